#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0-only
# The page of drystone map as a browser shows it: areas and colours, light and dark; the slider, pointer and keys.
# DRY_TEST_NO_NORSEQ, DRY_TEST_NO_POSIX: it is about the page.
. "$(dirname "$0")/common.inc"
browser=
for name in chromium chromium-browser google-chrome; do
	command -v $name >/dev/null && browser=$name && break
done
[ -n "$browser" ] || skip "NO CHROMIUM: nobody looked at the page of drystone map"
python=/usr/bin/python3
$python -c 'import matplotlib' 2>/dev/null || skip "NO python3-matplotlib: nobody looked at the page of drystone map"
need cc
cc -O1 -fno-builtin -I "$top/include" "$here/mapped.c" -o "$work/mapped" "$lib" -Wl,-rpath,"$(dirname "$lib")" ||
	{ fail "mapped.c does not compile"; finish; }
export DRYSTONE_CONF=background:0
mkfifo "$work/orders"
"$work/mapped" <"$work/orders" >"$work/said" &
child=$!
children=$child
exec 3>"$work/orders"
for _ in $(seq 500); do grep -q ready "$work/said" && break || sleep 0.02; done
"$cli" info --json "$child" >"$work/info" || fail "info"
"$cli" map --html "$work/page.html" --snapshots 2 --interval 2 "$child" 2>"$work/err" &
map=$!
for _ in $(seq 500); do [ -e "$work/page.html.new-$map" ] && break || sleep 0.02; done # the first snapshot was taken
kill -STOP $map # however slow the machine is
echo >&3
for _ in $(seq 500); do grep -q freed "$work/said" && break || sleep 0.02; done
kill -CONT $map
wait $map || fail "map: $(cat "$work/err")"
echo >&3

# What a person would do, by script: at the end of a copy of the page.
sed 's,^</body>,<script src=act.js></script></body>,' "$work/page.html" >"$work/act.html"
cat >"$work/act.js" <<'END'
document.body.append(Object.assign($("legend").cloneNode(true), {id: "first"}));
const said = [], tell_ = () => said.push($("tip").style.visibility === "visible" ? $("tip").textContent : "nothing");
const send = (target, kind, more) => target.dispatchEvent(Object.assign(new Event(kind, {bubbles: true, cancelable: true}), more));
const box = canvas.getBoundingClientRect(), slab = blocks.map(b => b.region.decoded).map(d => [...d.what.keys()].find(i => d.what[i] >= SLAB && caches[d.what[i] - SLAB].name === "alpha"));
const b = slab.findIndex(i => i !== undefined), at = blocks[b].region.decoded.at[slab[b]];
send(canvas, "mousemove", {clientX: box.left + GUTTER + (at % across + .5) * wide / across, clientY: box.top + blocks[b].top + HEAD + (Math.floor(at / across) + .5) * high});
tell_();
send(canvas, "keydown", {key: "ArrowRight"});
tell_();
send(canvas, "mouseleave");
tell_();
const before = across;
$("in").click();
said.push("zoom " + before / across);
said.push("gamma " + [...document.querySelectorAll("#legend b")].some(e => e.textContent === "<gamma>" && / [1-9]\d* slabs, /.test(" " + e.parentNode.lastChild.textContent)));
moment.value = 2;
send(moment, "input");
said.push(document.querySelector("output").textContent);
said.push("gamma " + [...document.querySelectorAll("#legend b")].some(e => e.textContent === "<gamma>" && / [1-9]\d{1,} slabs, /.test(" " + e.parentNode.lastChild.textContent)));
[...document.querySelectorAll("#legend button")].find(e => e.title.startsWith("alpha")).click();
said.push("alone " + (lit >= 0) + " " + document.querySelectorAll("[aria-pressed=true]").length);
document.body.append(Object.assign(document.createElement("pre"), {id: "said", textContent: said.join("\n--\n")}));
END
# look PAGE THEME ARGUMENT...: 0 is dark, 1 light
look() {
	page=$1 theme=$2
	shift 2
	timeout 60 "$browser" --headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars --window-size=1200,900 --force-device-scale-factor=1 \
		--user-data-dir="$work/browser" --blink-settings=preferredColorScheme="$theme" "$@" "file://$page" 2>"$work/browser.err" ||
		fail "$browser: $(grep -v dbus "$work/browser.err" | tail -n 3)"
}
for theme in dark:0 light:1; do # light last: what was acted is looked at below
	name=${theme%:*}
	look "$work/act.html" ${theme#*:} --dump-dom >"$work/acted.html"
	look "$work/page.html" ${theme#*:} --screenshot="$work/one.png"
	[ $name = dark ] || look "$work/page.html#2" ${theme#*:} --screenshot="$work/two.png"
	$python "$here/map_pixels.py" "$work/acted.html" "$work/one.png" $name "$work/info" "$([ $name = dark ] || echo "$work/two.png")" >"$work/out" 2>&1 ||
		fail "$name: $(tail -n 2 "$work/out")"
	tail -n 1 "$work/out"
done
sed -n '/<pre id="said">/,/<\/pre>/p' "$work/acted.html" | sed 's/.*<pre id="said">//; s/<\/pre>.*//' >"$work/acted"
{ grep -q '^slab of alpha$' "$work/acted" && grep -Eq '^[1-9][0-9]* of [0-9]+ objects of 512 bytes are out of it \((100|9[0-9]) %\)$' "$work/acted" &&
	grep -Eq ' page.* at 0x[0-9a-f]+000$' "$work/acted" && grep -q '^heap main$' "$work/acted" && grep -q '^nothing$' "$work/acted" &&
	grep -q '^zoom 2$' "$work/acted" && grep -q '^2 of 2, after ' "$work/acted" && grep -q '^alone true 1$' "$work/acted" &&
	[ "$(grep '^gamma' "$work/acted" | tr '\n' ' ')" = 'gamma true gamma false ' ]; } || fail "pointer, keys, slider: $(cat "$work/acted"; grep -v dbus "$work/browser.err")"
finish
