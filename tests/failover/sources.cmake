# A standby that takes over, and a store that was restored.

perdure_test(
  failover_test
  SOURCES failover/doctor_test.cpp failover/failover_test.cpp failover/restore_test.cpp
          ${PERDURE_PG_LOAD} ${PERDURE_HERD}
  PROGRAMS herd_player world_server
  LABELS postgres
  TIMEOUT 600 POSTGRES)
