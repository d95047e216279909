/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A C program that opens a C++ library: the run-time library of C++ comes with it, and is seen by it alone. A new that fails
 * throws, its form without exceptions gives NULL, and the library's own handler is called.
 * DRY_TEST_NO_NORSEQ: nothing of it is in a sequence. DRY_TEST_NO_POSIX: nor in a port.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "../support/check.h"
#include "../support/plugin.h"

static const char source[] = "#include <cstddef>\n#include <new>\n"
			     "static int handled;\n"
			     "static void give_up() { if (++handled == 3) std::set_new_handler(nullptr); }\n"
			     "template <class F> static int throws(F call) {\n"
			     "	try { void *volatile block = call(); ::operator delete(block); return 0; }\n"
			     "	catch (const std::bad_alloc &) { return 1; } }\n"
			     "extern \"C\" int plain(std::size_t size) { return throws([=] { return ::operator new(size); }); }\n"
			     "extern \"C\" int array(std::size_t size) { return throws([=] { return ::operator new[](size); }); }\n"
			     "extern \"C\" int nothrow(std::size_t size) {\n"
			     "	void *volatile block = ::operator new(size, std::nothrow); ::operator delete(block);\n"
			     "	return block == nullptr; }\n"
			     "extern \"C\" int handler(std::size_t size) {\n"
			     "	handled = 0; std::set_new_handler(give_up); return plain(size) ? handled : -1; }\n";

static volatile size_t absurd = (size_t)PTRDIFF_MAX - 100;

static int call(void *library, const char *name, size_t size)
{
	int (*function)(size_t size);

	*(void **)&function = dlsym(library, name);
	CHECK(function != NULL);
	return function(size);
}

static bool has_cxx(void)
{
	char command[256];
	const char *cc = getenv("CC");

	unsetenv("LD_PRELOAD");
	snprintf(command, sizeof(command), "echo '#include <new>' | %s -x c++ -fsyntax-only - 2>/dev/null", cc && *cc ? cc : "cc");
	return system(command) == 0;
}

int main(void)
{
	char path[64];
	void *library;

	if (!has_cxx()) {
		printf("skipped: the compiler knows no C++\n");
		return 77;
	}
	plugin_build(path, sizeof(path), "cxx", source, "-x c++ -std=c++11 -Wl,--no-as-needed -lstdc++");
	CHECK(dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv") == NULL);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	CHECK(library != NULL);
	CHECK(dlsym(RTLD_DEFAULT, "_ZSt15get_new_handlerv") == NULL);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(call(library, "plain", absurd), 1);
		CHECK_EQ(call(library, "array", absurd), 1);
		CHECK_EQ(call(library, "nothrow", absurd), 1);
		CHECK_EQ(call(library, "handler", absurd), 3);
		CHECK_EQ(call(library, "plain", 100), 0);
		CHECK_EQ(call(library, "nothrow", 100), 0);
	}
	CHECK(dlclose(library) == 0);
	CHECK(!unlink(path) && !rmdir(plugin_directory));
	return 0;
}
