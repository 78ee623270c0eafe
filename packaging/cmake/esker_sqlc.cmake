# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors

# esker_sqlc(TARGET app SCHEMA schema.sql QUERIES queries.sql
#            [NAME name] [OPTIONS --step-pages 4 ...])
#
# Compiles queries to C, NAME.h and NAME.c (default: the target's name), and
# makes them part of the target. They are made again when the SQL changes.
# ESKER_COMMAND is the command `esker`, of `pip install eskerdb`.
function(esker_sqlc)
    cmake_parse_arguments(sqlc "" "TARGET;SCHEMA;QUERIES;NAME" "OPTIONS"
        ${ARGN})
    foreach(needed TARGET SCHEMA QUERIES)
        if(NOT sqlc_${needed})
            message(FATAL_ERROR "esker_sqlc needs ${needed}")
        endif()
    endforeach()
    if(NOT sqlc_NAME)
        set(sqlc_NAME "${sqlc_TARGET}")
    endif()
    find_program(ESKER_COMMAND esker DOC "EskerDB's command: pip install eskerdb")
    if(NOT ESKER_COMMAND)
        message(FATAL_ERROR "esker_sqlc needs the command esker:"
            " pip install eskerdb, or set ESKER_COMMAND")
    endif()
    get_filename_component(schema "${sqlc_SCHEMA}" ABSOLUTE)
    get_filename_component(queries "${sqlc_QUERIES}" ABSOLUTE)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/esker_sqlc")
    file(MAKE_DIRECTORY "${folder}")
    set(out "${folder}/${sqlc_NAME}")
    add_custom_command(OUTPUT "${out}.c" "${out}.h"
        COMMAND "${ESKER_COMMAND}" sqlc "${schema}" "${queries}" -o "${out}"
            ${sqlc_OPTIONS}
        DEPENDS "${schema}" "${queries}"
        VERBATIM)
    target_sources(${sqlc_TARGET} PRIVATE "${out}.c" "${out}.h")
    target_include_directories(${sqlc_TARGET} PRIVATE "${folder}")
endfunction()
