// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// A program for a reader outside to look at: eight threads that have filled maps, and 114 MB in blocks of 5 MB and 128 KB, all
// touched. Says "ready", and then does what it is told on standard input: "grow" allocates 200 blocks of 128 KB and says "grown".
// Knows nothing of drystone.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

static char *touched(size_t size)
{
	char *block = static_cast<char *>(malloc(size));

	if (block == nullptr)
		abort();
	memset(block, 1, size);
	return block;
}

int main()
{
	static std::map<int, std::string> maps[8];
	std::vector<std::thread> threads;
	std::vector<char *> blocks;
	char line[64];

	for (auto &map : maps)
		threads.emplace_back([&map] {
			for (int i = 0; i < 5000; i++)
				map[i] = std::string(200, 'x');
		});
	for (auto &thread : threads)
		thread.join();
	for (int i = 0; i < 10; i++)
		blocks.push_back(touched(5 << 20));
	for (int i = 0; i < 500; i++)
		blocks.push_back(touched(128 << 10));
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != nullptr) {
		if (strcmp(line, "grow\n") != 0)
			continue;
		for (int i = 0; i < 200; i++)
			blocks.push_back(touched(128 << 10));
		puts("grown");
		fflush(stdout);
	}
	return blocks.empty();
}
