# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: EskerDB contributors
#
# esker_port_headers(ROOT INTO FOLDER...) copies the headers of port/ and of
# its FOLDERs to INTO/port, which goes on the include path for ROOT: there the
# file VERSION would be taken for C++'s <version>.

function(esker_port_headers root into)
    set(patterns "${root}/port/*.h")
    foreach(folder IN LISTS ARGN)
        list(APPEND patterns "${root}/port/${folder}/*.h")
    endforeach()
    file(GLOB headers CONFIGURE_DEPENDS RELATIVE "${root}" ${patterns})
    foreach(header IN LISTS headers)
        configure_file("${root}/${header}" "${into}/${header}" COPYONLY)
    endforeach()
endfunction()
