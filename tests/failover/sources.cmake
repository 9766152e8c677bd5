# Promotion of a standby, and restored stores.

perdure_test(
  failover_test
  SOURCES failover/doctor_test.cpp failover/failover_test.cpp failover/restore_test.cpp
  PROGRAMS herd_player world_server
  LABELS postgres
  POSTGRES)
