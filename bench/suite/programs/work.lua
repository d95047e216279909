-- SPDX-License-Identifier: MIT OR GPL-2.0-only
-- work.lua N: tables, strings and closures that come and go. Prints sums and what is resident at the end.
local size = tonumber(arg[1])
local seed = 42

local function random(limit)
	seed = (seed * 1103515245 + 12345) % 2147483648
	return seed // 65536 % limit + 1
end

-- Objects that refer to each other; random ones are replaced.
local objects, sum = {}, 0
for i = 1, size do
	local slot = random(size // 8 + 1)
	local old = objects[slot]
	objects[slot] = { id = i, name = "object " .. i, next = objects[random(size // 8 + 1)], list = { i, i + 1, i + 2 } }
	if old then
		sum = sum + old.list[2]
		old.next = nil
	end
end

-- Text: cut up, counted, joined.
local words, count = {}, {}
for i = 1, size // 2 do
	words[i] = string.format("%x", i * 7919 % 65521)
end
for word in table.concat(words, " "):gmatch("%S+") do
	local key = word:sub(1, 3) .. #word
	count[key] = (count[key] or 0) + 1
end
local keys = {}
for key, n in pairs(count) do
	keys[#keys + 1] = key .. n
end
table.sort(keys)

-- A binary tree, built and walked, again and again.
local function build(depth)
	if depth == 0 then
		return {}
	end
	return { build(depth - 1), build(depth - 1) }
end
local function walk(tree)
	return tree[1] and 1 + walk(tree[1]) + walk(tree[2]) or 1
end
for _ = 1, size // 4000 + 1 do
	sum = sum + walk(build(11))
end

-- Closures.
local calls = {}
for i = 1, size // 2 do
	local kept = { i }
	calls[i % 1000 + 1] = function(n)
		kept[1] = kept[1] + n
		return kept[1]
	end
	sum = sum + calls[i % 1000 + 1](1)
end
print(sum, #keys, keys[1], keys[#keys])
local pages = io.open("/proc/self/statm"):read("a"):match("%d+ (%d+)")
print("resident " .. pages * 4)
