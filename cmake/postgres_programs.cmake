# PERDURE_POSTGRES_PROGRAMS: the folder of PostgreSQL's server programs, for targets that start a server.

find_program(PERDURE_PG_CONFIG pg_config)
if(PERDURE_PG_CONFIG)
  execute_process(COMMAND "${PERDURE_PG_CONFIG}" --bindir OUTPUT_VARIABLE postgres_bindir
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
find_path(PERDURE_POSTGRES_PROGRAMS initdb HINTS "${postgres_bindir}" PATHS /usr/lib/postgresql/15/bin
          DOC "Folder that holds initdb and postgres")
mark_as_advanced(PERDURE_PG_CONFIG PERDURE_POSTGRES_PROGRAMS)
