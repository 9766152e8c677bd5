# User callbacks that throw or are empty: each callback, each moment, each kind of exception.

perdure_test(
  thrown_test
  SOURCES thrown/agent_test.cpp thrown/caller_test.cpp thrown/policy_test.cpp thrown/progress_test.cpp
  LABELS runtime
  POSTGRES)
