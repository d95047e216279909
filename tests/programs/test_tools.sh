#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# tar, gzip and a big sort give the same bytes with and without drystone.
. "$(dirname "$0")/common.inc"
need tar gzip sort
same tar+gzip 'set -e
	mkdir tree
	for i in $(seq 1 200); do seq $i 7 $((i * 60)) > tree/f$i; done
	tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf t.tar tree && cksum t.tar
	gzip -n9 < t.tar > t.tgz && cksum t.tgz
	tar -czf t2.tgz --mtime=@0 --sort=name --owner=0 --group=0 tree && gzip -dc t2.tgz | cksum
	rm -r tree && tar -xzf t.tgz && cat tree/* | cksum'
same sort 'set -e
	awk "BEGIN { for (i = 0; i < 400000; i++) printf \"%d line %d\n\", i * 7919 % 400009, i }" > in
	sort --parallel=2 in | cksum
	sort -S 4M --parallel=2 -k3,3n -k1,1r in | cksum
	sort -n in | uniq -c | head -n 50
	sort -u -k2 in | wc -l'
finish
