#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# perl, lua and node give the same results with and without drystone.
. "$(dirname "$0")/common.inc"
ran=0
if command -v perl >/dev/null; then
	ran=1
	same perl 'perl -e "
		my %h; my @l;
		for my \$i (1 .. 200000) { \$h{\"key\" . (\$i * 7919 % 100003)} .= chr(97 + \$i % 26); push @l, [\$i, \"x\" x (\$i % 50)] if \$i % 3 == 0 }
		my \$s = join(\",\", map { \"\$_=\$h{\$_}\" } sort keys %h);
		my \$n = () = \$s =~ /key\d+=(?:[a-m]+)/g;
		print length(\$s), \" \", \$n, \" \", unpack(\"%32C*\", \$s), \" \", scalar(@l), \"\n\";
		open my \$f, \">\", \"t\" or die; print \$f \"\$_\n\" for sort { \$a cmp \$b } keys %h; close \$f;
		print -s \"t\", \"\n\";"'
fi
for lua in lua5.4 lua; do
	command -v $lua >/dev/null || continue
	ran=1
	same $lua "$lua -e '
		local t, n = {}, 0
		for i = 1, 300000 do t[i] = {i, tostring(i * 7919 % 100003), {}} end
		table.sort(t, function(a, b) if a[2] ~= b[2] then return a[2] < b[2] end return a[1] < b[1] end)
		for i = 1, #t, 1000 do io.write(t[i][2], \" \") end
		for i = 1, #t, 2 do t[i] = nil end
		collectgarbage()
		local s = {}
		for i = 1, 50000 do s[#s + 1] = (\"ab\"):rep(i % 60) end
		print(#table.concat(s))'"
	break
done
if command -v node >/dev/null; then
	ran=1
	same node "node -e '
		const crypto = require(\"crypto\"), zlib = require(\"zlib\");
		const list = [];
		for (let i = 0; i < 100000; i++) list.push({ id: i, name: \"n\" + (i * 7919 % 100003), tags: [i, i + 1] });
		list.sort((a, b) => a.name < b.name ? -1 : 1);
		const text = JSON.stringify(list);
		const packed = zlib.gzipSync(Buffer.from(text));
		console.log(text.length, zlib.gunzipSync(packed).length, crypto.createHash(\"sha256\").update(text).digest(\"hex\"));
		const buffers = [];
		for (let i = 0; i < 3000; i++) buffers.push(Buffer.alloc(1000 + i * 7, i));
		console.log(crypto.createHash(\"sha256\").update(Buffer.concat(buffers)).digest(\"hex\"));
		new (require(\"worker_threads\").Worker)(\"require(\\\"worker_threads\\\").parentPort.postMessage(Array.from({length: 50000}, (_, i) => \\\"w\\\" + i).join().length)\", { eval: true }).on(\"message\", m => console.log(m));'"
fi
[ $ran = 1 ] || skip "neither perl nor lua nor node is installed"
finish
