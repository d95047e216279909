// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Eight threads that fill and empty maps, with pauses for who looks at them, until a line of input comes; then malloc_info() to the file of the first argument.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <malloc.h>
#include <map>
#include <string>
#include <thread>
#include <vector>

static std::atomic<bool> stop;

static void work(unsigned state)
{
	std::map<unsigned, std::string> map;

	for (unsigned turn = 1; !stop; turn++) {
		if (turn % 500 == 0)
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		state = state * 1664525 + 1013904223;
		map[state >> 20] = std::string(state >> 12 & 511, 'x');
		if (state >> 31)
			map.erase(state >> 19 & 4095);
	}
}

int main(int, char **argv)
{
	std::vector<std::thread> threads;
	std::vector<char> run(100000), extent(5 << 20);

	for (unsigned i = 0; i < 8; i++)
		threads.emplace_back(work, i);
	std::puts("ready");
	std::fflush(stdout);
	std::getchar();
	FILE *file = std::fopen(argv[1], "w");
	int status = file == nullptr || malloc_info(0, file) != 0 || std::fclose(file) != 0;
	stop = true;
	for (auto &thread : threads)
		thread.join();
	return status;
}
