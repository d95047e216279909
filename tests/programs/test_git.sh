#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# git gives the same commits, logs, packs and checks with and without drystone.
. "$(dirname "$0")/common.inc"
need git
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=c GIT_COMMITTER_EMAIL=c@example.org
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 HOME="$work"
same git '
	set -e
	git init -q -b main .
	for i in $(seq 1 25); do
		seq $i $((i * 97)) > file$((i % 7))
		mkdir -p dir$i && echo "$i" > dir$i/name
		git add -A && git commit -q -m "commit $i"
	done
	git checkout -q -b side HEAD~5 && echo side > other && git add other && git commit -q -m side
	git checkout -q main && git merge -q --no-edit side
	git gc -q --aggressive --prune=now
	git fsck --full --strict 2>&1
	git log --stat --format="%H %T %s"
	git diff HEAD~12 | cksum
	git blame -s file3 | cksum
	git clone -q . copy && git -C copy rev-parse HEAD
	git grep -c 1 | sort | head -n 20'
finish
