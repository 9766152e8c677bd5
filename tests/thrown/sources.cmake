# A user's code that throws, or is not there: each callback, each moment, each kind of thrown thing.

perdure_test(
  thrown_test
  SOURCES thrown/agent_test.cpp thrown/caller_test.cpp thrown/policy_test.cpp thrown/progress_test.cpp
  LABELS runtime
  POSTGRES)
