# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# dry_core_library(name FOLDER...): all of src/core and nothing else, as lib<name>.a, over what it finds in the folders:
# backing_impl.h, percpu.h, port_impl.h. drycore is that of the build's port; scripts/check-core looks at what it asks for.

file(GLOB dry_core_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/core/*.c)

function(dry_core_library name)
	add_library(${name} STATIC EXCLUDE_FROM_ALL ${dry_core_sources})
	target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${ARGN})
	# Of a compiler's own helpers none is to be seen.
	target_compile_options(${name} PRIVATE ${dry_warnings} -ffreestanding -fno-pic -fno-stack-protector -fno-strict-aliasing)
	set_target_properties(${name} PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR} POSITION_INDEPENDENT_CODE OFF)
endfunction()

set(DRY_CORE_FOLDERS src/page/process src/port/${DRY_PORT} src/port/arch/${DRY_ARCH} CACHE STRING
	"What drycore is compiled over: folders of backing_impl.h, percpu.h, port_impl.h")
list(TRANSFORM DRY_CORE_FOLDERS PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE dry_core_folders)
dry_core_library(drycore ${dry_core_folders})
