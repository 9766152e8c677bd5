# Forgetting over SQLite: what the file holds, how long a slice takes, who goes on meanwhile.

perdure_test(
  retention_test
  SOURCES retention/erased_bytes_test.cpp retention/erased_meanwhile_test.cpp
          retention/file_size_test.cpp retention/slices_test.cpp
  LABELS retention)
