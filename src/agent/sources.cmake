# The files of layer agent, relative to this folder: one list for each part, in the part's folder.

set(PERDURE_AGENT_SOURCES "")
set(PERDURE_AGENT_TESTS "")
foreach(part text models tools loop file)
  include("${CMAKE_CURRENT_LIST_DIR}/${part}/sources.cmake")
endforeach()
