# SPDX-License-Identifier: MIT OR GPL-2.0-only
#
# drystone_add(PORT p ARCH a SUFFIX s OUTPUT folder)
#
# The library over one port. Defines
#   dry_<layer>s       an object library for each layer that has sources
#   drystone_shareds   OUTPUT/libdrystone.so   (not in a sanitizer build)
#   drystone_statics   OUTPUT/libdrystone.a    one object; what is not public in it is local (not in a sanitizer build)
#   drystone_noverride, drystone_noverride_static   OUTPUT/libdrystone-noverride.so and .a: the same without the
#                      malloc family; with DRYSTONE_OVERRIDE=OFF other names of those above, which then have no malloc
#   drystone_wholes    interface: all objects, public and private include paths; what tests link to
#   drystone_privates  interface: private include paths only

include(CheckLinkerFlag)
check_linker_flag(C -Wl,--sort-section=alignment dry_sorts_sections)

# dry_products(STATIC SHARED FILE OUTPUT objects...): FILE.a and FILE.so of these objects.
function(dry_products static shared file output)
	set(public $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
	if(DRY_SANITIZE)
		add_library(${static} STATIC ${ARGN})
	else()
		# How the compiler is called for the machine that is compiled for.
		separate_arguments(compiler UNIX_COMMAND "${CMAKE_C_COMPILER_ARG1} ${CMAKE_C_FLAGS}")
		if(CMAKE_C_COMPILER_TARGET)
			list(PREPEND compiler ${CMAKE_C_COMPILE_OPTIONS_TARGET}${CMAKE_C_COMPILER_TARGET})
		endif()
		string(REGEX MATCH "-fuse-ld=[^ ]+" linker "${CMAKE_EXE_LINKER_FLAGS}")
		# One object, so that who links any part also gets what no symbol asks for: fork handlers, options,
		# the malloc family.
		set(whole ${CMAKE_CURRENT_BINARY_DIR}/${static}.o)
		# Its code gets a section of its own, so that stacks can leave out the library's frames (port/unix/stack.c).
		# A program that it is linked into may define the malloc family.
		add_custom_command(OUTPUT ${whole} COMMAND ${CMAKE_C_COMPILER} ${compiler} ${linker} -fno-lto -nostdlib -r -o ${whole} "${ARGN}"
			COMMAND ${CMAKE_OBJCOPY} --rename-section .text=dry_text --rename-section .text.unlikely=dry_text
			--localize-hidden --wildcard --weaken-symbols=${PROJECT_SOURCE_DIR}/cmake/weak.txt ${whole}
			DEPENDS "${ARGN}" ${PROJECT_SOURCE_DIR}/cmake/weak.txt COMMAND_EXPAND_LISTS VERBATIM)
		set_source_files_properties(${whole} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
		add_library(${static} STATIC ${whole})
		# make knows how to build these objects in their own targets only, which are to come first.
		string(REGEX REPLACE "\\$<TARGET_OBJECTS:([^>]*)>" "\\1" targets "${ARGN}")
		add_dependencies(${static} ${targets})
		add_library(${shared} SHARED ${ARGN})
		target_include_directories(${shared} INTERFACE ${public})
		# nodelete: a helper thread runs in it. now: no symbol is looked up inside of malloc. Operators that a program
		# replaces are not bound to ours (malloc/override_cxx.c).
		target_link_options(${shared} PRIVATE -Wl,--no-undefined -Wl,-z,relro -Wl,-z,now
			-Wl,-z,nodelete -Wl,-Bsymbolic-functions -Wl,--dynamic-list=${PROJECT_SOURCE_DIR}/cmake/replaceable.txt)
		# Small variables side by side, instead of between tables: the start of a program touches fewer pages.
		if(dry_sorts_sections)
			target_link_options(${shared} PRIVATE -Wl,--sort-section=alignment)
		endif()
		set_target_properties(${shared} PROPERTIES OUTPUT_NAME ${file} LINKER_LANGUAGE C
			VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${output})
	endif()
	target_include_directories(${static} INTERFACE ${public})
	set_target_properties(${static} PROPERTIES OUTPUT_NAME ${file} LINKER_LANGUAGE C ARCHIVE_OUTPUT_DIRECTORY ${output})
endfunction()

# dry_public_names(TARGET NAME...): drystone::NAME, here and where it is installed.
function(dry_public_names)
	while(ARGN)
		list(POP_FRONT ARGN target name)
		if(TARGET ${target})
			set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
			add_library(drystone::${name} ALIAS ${target})
		endif()
	endwhile()
endfunction()

# A program that is linked with either has its malloc, also if none of its own objects names anything in it: distributions'
# compilers leave out shared libraries that nothing asks for, and linkers the objects of archives.
function(dry_link_always static shared)
	target_link_options(${static} INTERFACE -Wl,-u,malloc)
	if(TARGET ${shared})
		set(always -Wl,--push-state,--no-as-needed)
		target_link_options(${shared} INTERFACE "$<BUILD_INTERFACE:${always},$<TARGET_LINKER_FILE:${shared}>,--pop-state>"
			"$<INSTALL_INTERFACE:${always},$<TARGET_LINKER_FILE:drystone::drystone>,--pop-state>")
	endif()
endfunction()

function(drystone_add)
	cmake_parse_arguments(arg "" "PORT;ARCH;SUFFIX;OUTPUT" "" ${ARGN})
	set(src ${PROJECT_SOURCE_DIR}/src)
	set(s "${arg_SUFFIX}")

	set(glob_base ${src}/base/*.c)
	set(glob_port ${src}/port/*.c ${src}/port/${arg_PORT}/*.c ${src}/port/unix/*.c
		${src}/port/arch/*.c ${src}/port/arch/${arg_ARCH}/*.c ${src}/port/arch/${arg_ARCH}/*.S)
	set(glob_page ${src}/page/*.c ${src}/page/process/*.c)
	set(glob_core ${src}/core/*.c)
	set(glob_heap ${src}/heap/*.c)
	set(glob_debug ${src}/debug/*.c)
	set(glob_guard ${src}/guard/*.c)
	set(glob_stats ${src}/stats/*.c)
	set(glob_malloc ${src}/malloc/*.c)
	# malloc without it is the default heap and its size classes; with it, the symbols of libc.
	# What malloc needs where it is a library of its own.
	set(glob_shared ${src}/malloc/shared*.c)
	set(glob_override ${src}/malloc/override*.c ${src}/port/${arg_PORT}/override*.c ${src}/port/unix/override*.c)

	add_library(drystone_private${s} INTERFACE)
	target_include_directories(drystone_private${s} INTERFACE
		${PROJECT_SOURCE_DIR}/include ${src} ${src}/malloc/front ${src}/page/process ${src}/port/${arg_PORT} ${src}/port/arch/${arg_ARCH})

	set(objects "")
	foreach(layer base port page core heap debug guard stats malloc override shared)
		file(GLOB sources CONFIGURE_DEPENDS ${glob_${layer}})
		if(layer MATCHES "^(malloc|port)$")
			list(FILTER sources EXCLUDE REGEX "/(override|shared)[^/]*$")
		endif()
		if(NOT sources OR (layer MATCHES "^(override|shared)$" AND DRY_SANITIZE)) # the sanitizers replace malloc themselves
			continue()
		endif()
		add_library(dry_${layer}${s} OBJECT ${sources})
		target_link_libraries(dry_${layer}${s} PRIVATE drystone_private${s})
		target_compile_options(dry_${layer}${s} PRIVATE ${dry_warnings} ${dry_code})
		# Exceptions pass through operator new and delete.
		set_source_files_properties(${src}/malloc/override_cxx.c ${src}/malloc/shared_nothrow.c PROPERTIES COMPILE_OPTIONS -fexceptions)
		if(layer MATCHES "^(base|page|core|heap)$")
			target_compile_options(dry_${layer}${s} PRIVATE $<$<COMPILE_LANGUAGE:C>:-ffreestanding>)
		else()
			target_compile_options(dry_${layer}${s} PRIVATE $<$<COMPILE_LANGUAGE:C>:${dry_no_builtin_malloc}>)
		endif()
		if(layer STREQUAL "override") # Valgrind looks for leaks only behind a malloc that is not weak; our operators
			# are weak always: then a call of one by another is not bound here, and a program may replace one alone
			target_compile_definitions(dry_${layer}${s} PRIVATE DRY_REPLACEABLE=DRY_EXPORT)
		endif()
		# A call is handed on by a jump; clang makes one from -O2 on.
		set_source_files_properties(${src}/malloc/shared_dlopen.c PROPERTIES COMPILE_OPTIONS "-O2;-foptimize-sibling-calls")
		set(objects_${layer} $<TARGET_OBJECTS:dry_${layer}${s}>)
		if(NOT layer MATCHES "^(override|shared)$")
			list(APPEND objects ${objects_${layer}})
		endif()
	endforeach()

	add_library(drystone_whole${s} INTERFACE)
	target_sources(drystone_whole${s} INTERFACE ${objects} ${objects_override})
	target_link_libraries(drystone_whole${s} INTERFACE drystone_private${s})

	if(DRYSTONE_OVERRIDE)
		dry_products(drystone_static${s} drystone_shared${s} drystone ${arg_OUTPUT} ${objects} ${objects_override})
		if(TARGET drystone_shared${s})
			target_sources(drystone_shared${s} PRIVATE ${objects_shared})
		endif()
		dry_link_always(drystone_static${s} drystone_shared${s})
	else()
		dry_products(drystone_static${s} drystone_shared${s} drystone ${arg_OUTPUT} ${objects})
	endif()
	if(s) # for the tests; a project around it that installs has none
		get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
		list(FILTER targets INCLUDE REGEX "^dry.*${s}$")
		if(NOT dry_top_level)
			set_target_properties(${targets} PROPERTIES EXCLUDE_FROM_ALL ON)
		endif()
		return()
	endif()
	if(DRYSTONE_OVERRIDE AND NOT DRY_SANITIZE)
		dry_products(drystone_noverride_static drystone_noverride drystone-noverride ${arg_OUTPUT} ${objects})
		dry_public_names(drystone_noverride_static noverride-static drystone_noverride noverride)
	elseif(NOT DRY_SANITIZE)
		add_library(drystone::noverride-static ALIAS drystone_static)
		add_library(drystone::noverride ALIAS drystone_shared)
	endif()
	dry_public_names(drystone_static static drystone_shared drystone)
endfunction()
