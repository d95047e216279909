# SPDX-License-Identifier: MIT OR GPL-2.0-only
# cmake --install: headers, both libraries, command, pkg-config files, CMake package, man pages.

install(TARGETS drystone_tiny_malloc drystone_sequential_malloc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
set(dry_noverride "")
if(TARGET drystone_noverride)
	set(dry_noverride drystone_noverride drystone_noverride_static)
endif()
install(TARGETS drystone_shared drystone_static ${dry_noverride} drystone_tiny drystone_tiny_check
	drystone_sequential drystone_sequential_check EXPORT drystone
	LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
	ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
	INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET drystone_cli)
	install(TARGETS drystone_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/drystone DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
foreach(section 1 3 7)
	file(GLOB pages CONFIGURE_DEPENDS man/*.${section})
	install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
if(TARGET drystone_cli)
	install(FILES completions/drystone.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME drystone)
	install(FILES completions/_drystone DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
	install(FILES completions/drystone.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
install(FILES contrib/drystone-gdb.py contrib/grafana-drystone.json DESTINATION ${CMAKE_INSTALL_DATADIR}/drystone)
# A page for each public function, from the comments of the headers.
find_program(DRY_PYTHON python3)
if(DRY_PYTHON)
	file(GLOB headers CONFIGURE_DEPENDS include/drystone/*.h)
	set(dry_man_dir ${PROJECT_BINARY_DIR}/man)
	add_custom_command(OUTPUT ${dry_man_dir}/list
		COMMAND ${DRY_PYTHON} ${PROJECT_SOURCE_DIR}/scripts/man-functions ${PROJECT_SOURCE_DIR}/include/drystone
			${PROJECT_SOURCE_DIR}/man ${dry_man_dir} > ${dry_man_dir}/list
		DEPENDS ${PROJECT_SOURCE_DIR}/scripts/man-functions ${headers} VERBATIM)
	file(MAKE_DIRECTORY ${dry_man_dir})
	add_custom_target(drystone_man ALL DEPENDS ${dry_man_dir}/list)
	install(DIRECTORY ${dry_man_dir}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 FILES_MATCHING PATTERN "*.3")
else()
	message(STATUS "no python3: no manual pages of single functions")
endif()
install(DIRECTORY LICENSES DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Paths in the .pc files are relative to the file, so that an installed tree can be moved
# and `cmake --install --prefix` needs no new configure.
file(RELATIVE_PATH DRY_PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" DRY_PC_TO_PREFIX "${DRY_PC_TO_PREFIX}")
file(RELATIVE_PATH DRY_PC_LIBDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH DRY_PC_INCLUDEDIR ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
foreach(DRY_PC_NAME drystone drystone-noverride)
	set(DRY_PC_LIBRARY ${DRY_PC_NAME})
	if(NOT DRYSTONE_OVERRIDE) # they are one
		set(DRY_PC_LIBRARY drystone)
	endif()
	# Linked in any case, as dry_link_always() does.
	set(DRY_PC_SHARED -l${DRY_PC_LIBRARY})
	set(DRY_PC_STATIC \${libdir}/lib${DRY_PC_LIBRARY}.a)
	if(DRYSTONE_OVERRIDE AND DRY_PC_NAME STREQUAL "drystone")
		string(PREPEND DRY_PC_SHARED "-Wl,--push-state,--no-as-needed,-ldrystone,--pop-state ")
		string(PREPEND DRY_PC_STATIC "-Wl,-u,malloc ")
	endif()
	if(NOT dry_small_atomics)
		string(APPEND DRY_PC_STATIC " -latomic")
	endif()
	foreach(kind "" -static)
		set(pc ${PROJECT_BINARY_DIR}/cmake/${DRY_PC_NAME}${kind}.pc)
		configure_file(cmake/drystone${kind}.pc.in ${pc} @ONLY)
		install(FILES ${pc} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
	endforeach()
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/drystone)
configure_package_config_file(cmake/drystone-config.cmake.in
	${PROJECT_BINARY_DIR}/cmake/drystone-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/drystone-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/drystone-config.cmake
	${PROJECT_BINARY_DIR}/cmake/drystone-config-version.cmake DESTINATION ${package_dir})
install(EXPORT drystone NAMESPACE drystone:: FILE drystone-targets.cmake DESTINATION ${package_dir})
