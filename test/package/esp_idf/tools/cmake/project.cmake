# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors

# Stands where ESP-IDF's project.cmake does (IDF_PATH is ../..), for the host:
# components run their own CMakeLists.txt, and what of ESP-IDF these call is
# here, doing what ESP-IDF's does with these arguments. A component's name is
# its folder's. ESP-IDF's partitions are the fake of port/esp_partition, its
# other headers are in include/, and host.c, or ESKER_HOST, calls app_main.

set(idf_stand_in "${CMAKE_CURRENT_LIST_DIR}/../..")
get_filename_component(idf_esker "${idf_stand_in}/../../.." ABSOLUTE)

# ESP-IDF builds C with these.
set(idf_options -std=gnu17 -Wall -Wextra -Wno-unused-parameter
    -Wno-sign-compare -Werror=all)

function(idf_component_register)
    cmake_parse_arguments(arg "" "" "SRCS;INCLUDE_DIRS;REQUIRES" ${ARGN})
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "unknown: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    get_filename_component(name "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
    add_library(idf_${name} STATIC ${arg_SRCS})
    target_include_directories(idf_${name} PUBLIC ${arg_INCLUDE_DIRS}
        PRIVATE "${idf_stand_in}/include")
    target_compile_options(idf_${name} PRIVATE ${idf_options})
    foreach(required IN LISTS arg_REQUIRES)
        if(NOT TARGET idf_${required})
            message(FATAL_ERROR "${name} requires ${required}: no component")
        endif()
        target_link_libraries(idf_${name} PUBLIC idf_${required})
    endforeach()
    set(COMPONENT_LIB idf_${name} PARENT_SCOPE)
endfunction()

macro(project name)
    _project(${name} LANGUAGES C)
    add_library(idf_esp_partition STATIC
        "${idf_esker}/port/esp_partition/fake/esp_fake.c"
        "${idf_esker}/port/models/chip.c")
    target_include_directories(idf_esp_partition
        PUBLIC "${idf_esker}/port/esp_partition/fake"
        PRIVATE "${idf_esker}" "${idf_esker}/include")
    set(idf_linked idf_esp_partition)
    foreach(folder IN LISTS EXTRA_COMPONENT_DIRS ITEMS main)
        get_filename_component(folder "${folder}" ABSOLUTE)
        get_filename_component(component "${folder}" NAME)
        if(EXISTS "${folder}/CMakeLists.txt")
            add_subdirectory("${folder}" ${component})
            list(INSERT idf_linked 0 idf_${component})
        endif()
    endforeach()
    if(NOT ESKER_HOST)
        set(ESKER_HOST "${idf_stand_in}/host.c")
    endif()
    add_executable(${name} "${ESKER_HOST}")
    target_include_directories(${name} PRIVATE "${idf_stand_in}/include"
        "${idf_esker}" "${idf_esker}/include")
    target_link_libraries(${name} PRIVATE ${idf_linked})
endmacro()
