// libpq, loaded when somebody first turns to a server.

#pragma once

#include <libpq-fe.h>

#include "perdure/core/error.hpp"
#include "perdure/core/shared_library.hpp"

namespace perdure::postgres {

/// Its functions, each by its name without PQ.
struct Libpq {
  SharedLibrary library{"libpq.so.5", "libpq5"};
  decltype(PQbackendPID)* backend_pid = library.find<decltype(PQbackendPID)>("PQbackendPID");
  decltype(PQclear)* clear = library.find<decltype(PQclear)>("PQclear");
  decltype(PQconndefaults)* conndefaults = library.find<decltype(PQconndefaults)>("PQconndefaults");
  decltype(PQconnectPoll)* connect_poll = library.find<decltype(PQconnectPoll)>("PQconnectPoll");
  decltype(PQconnectStartParams)* connect_start_params =
      library.find<decltype(PQconnectStartParams)>("PQconnectStartParams");
  decltype(PQconninfoFree)* conninfo_free =
      library.find<decltype(PQconninfoFree)>("PQconninfoFree");
  decltype(PQconninfoParse)* conninfo_parse =
      library.find<decltype(PQconninfoParse)>("PQconninfoParse");
  decltype(PQconsumeInput)* consume_input =
      library.find<decltype(PQconsumeInput)>("PQconsumeInput");
  decltype(PQenterPipelineMode)* enter_pipeline_mode =
      library.find<decltype(PQenterPipelineMode)>("PQenterPipelineMode");
  decltype(PQerrorMessage)* error_message =
      library.find<decltype(PQerrorMessage)>("PQerrorMessage");
  decltype(PQexitPipelineMode)* exit_pipeline_mode =
      library.find<decltype(PQexitPipelineMode)>("PQexitPipelineMode");
  decltype(PQfinish)* finish = library.find<decltype(PQfinish)>("PQfinish");
  decltype(PQflush)* flush = library.find<decltype(PQflush)>("PQflush");
  decltype(PQfreemem)* freemem = library.find<decltype(PQfreemem)>("PQfreemem");
  decltype(PQgetisnull)* getisnull = library.find<decltype(PQgetisnull)>("PQgetisnull");
  decltype(PQgetlength)* getlength = library.find<decltype(PQgetlength)>("PQgetlength");
  decltype(PQgetResult)* get_result = library.find<decltype(PQgetResult)>("PQgetResult");
  decltype(PQgetvalue)* getvalue = library.find<decltype(PQgetvalue)>("PQgetvalue");
  decltype(PQisBusy)* is_busy = library.find<decltype(PQisBusy)>("PQisBusy");
  decltype(PQlibVersion)* lib_version = library.find<decltype(PQlibVersion)>("PQlibVersion");
  decltype(PQnotifies)* notifies = library.find<decltype(PQnotifies)>("PQnotifies");
  decltype(PQntuples)* ntuples = library.find<decltype(PQntuples)>("PQntuples");
  decltype(PQpipelineSync)* pipeline_sync =
      library.find<decltype(PQpipelineSync)>("PQpipelineSync");
  decltype(PQresultErrorField)* result_error_field =
      library.find<decltype(PQresultErrorField)>("PQresultErrorField");
  decltype(PQresultErrorMessage)* result_error_message =
      library.find<decltype(PQresultErrorMessage)>("PQresultErrorMessage");
  decltype(PQresultMemorySize)* result_memory_size =
      library.find<decltype(PQresultMemorySize)>("PQresultMemorySize");
  decltype(PQresultStatus)* result_status =
      library.find<decltype(PQresultStatus)>("PQresultStatus");
  decltype(PQsendPrepare)* send_prepare = library.find<decltype(PQsendPrepare)>("PQsendPrepare");
  decltype(PQsendQuery)* send_query = library.find<decltype(PQsendQuery)>("PQsendQuery");
  decltype(PQsendQueryParams)* send_query_params =
      library.find<decltype(PQsendQueryParams)>("PQsendQueryParams");
  decltype(PQsendQueryPrepared)* send_query_prepared =
      library.find<decltype(PQsendQueryPrepared)>("PQsendQueryPrepared");
  decltype(PQsetErrorVerbosity)* set_error_verbosity =
      library.find<decltype(PQsetErrorVerbosity)>("PQsetErrorVerbosity");
  decltype(PQsetnonblocking)* setnonblocking =
      library.find<decltype(PQsetnonblocking)>("PQsetnonblocking");
  decltype(PQsetNoticeReceiver)* set_notice_receiver =
      library.find<decltype(PQsetNoticeReceiver)>("PQsetNoticeReceiver");
  decltype(PQsocket)* socket = library.find<decltype(PQsocket)>("PQsocket");
  decltype(PQstatus)* status = library.find<decltype(PQstatus)>("PQstatus");

  [[nodiscard]] Result<void> check() const { return library.check(); }
};

/// Fails: `unavailable` without a libpq that can be used.
[[nodiscard]] Result<void> load_libpq();

/// After load_libpq() succeeded once: whoever has an Address may call it.
[[nodiscard]] const Libpq& pq();

}  // namespace perdure::postgres
