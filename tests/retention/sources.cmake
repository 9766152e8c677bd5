# Prune, erase and delete on SQLite: the content of the file, the time of a slice, concurrent work.

perdure_test(
  retention_test
  SOURCES retention/erased_bytes_test.cpp retention/erased_meanwhile_test.cpp
          retention/file_size_test.cpp retention/slices_test.cpp
  LABELS retention)
