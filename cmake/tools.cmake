# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# Parts of the command that a library decides on, and pages that it writes.
include(CheckIncludeFile)
include(CheckLibraryExists)

# dry_choose(LIBRARY with without message): of two sources, that for a system with PkgConfig::LIBRARY or without.
macro(dry_choose library with without message)
	if(TARGET PkgConfig::${library})
		list(FILTER dry_cli_sources EXCLUDE REGEX "/${without}\\.c$")
	else()
		message(STATUS "${message}")
		list(FILTER dry_cli_sources EXCLUDE REGEX "/${with}\\.c$")
	endif()
endmacro()

# Each tools/drystone/pages/NAME.html as the string page_NAME (page.h).
macro(dry_embed_pages)
	file(GLOB dry_pages CONFIGURE_DEPENDS tools/drystone/pages/*.html)
	foreach(page ${dry_pages})
		get_filename_component(name ${page} NAME_WE)
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page})
		file(READ ${page} bytes HEX)
		string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
		file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/pages/${name}.c
			CONTENT "#include \"page.h\"\nconst char page_${name}[] = { ${bytes} 0 };\n")
		list(APPEND dry_cli_sources ${PROJECT_BINARY_DIR}/pages/${name}.c)
	endforeach()
endmacro()
