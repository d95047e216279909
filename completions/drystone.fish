# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Completion of drystone for fish. Commands and options are those that the command's own help prints.

function __drystone_commands
	drystone --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)' '$1\t$2'
end

function __drystone_keys
	drystone info --keys 2>/dev/null | string replace -r '  *' '\t'
end

function __drystone_processes
	drystone top --batch --iterations 1 2>/dev/null | string replace -rf '^ *([0-9]+) (\S+) .*' '$1\t$2'
end

function __drystone_command
	set -l words (commandline -opc)
	test (count $words) -ge 2; and echo $words[2]
end

function __drystone_is
	set -l command (__drystone_command)
	and contains -- $command $argv
end

# The options of the command that was typed.
function __drystone_options
	set -l command (__drystone_command); or return
	drystone help $command 2>/dev/null | string replace -rf '^  (-.), (--[a-z]+)\S*( [A-Z]\S*)? *(.*)' '$2\t$4\n$1\t$4' | string split '\n'
end

function __drystone_after
	contains -- (commandline -opc)[-1] $argv
end

complete -c drystone -f
complete -c drystone -n 'not __drystone_command' -a '(__drystone_commands)'
complete -c drystone -n 'not __drystone_command' -l help -d 'the commands'
complete -c drystone -n 'not __drystone_command' -l version -d 'the version'
complete -c drystone -n '__drystone_is help' -a '(__drystone_commands)'
complete -c drystone -n '__drystone_command; and string match -q -- "-*" (commandline -ct)' -a '(__drystone_options)'
set -l keys '__drystone_after --sort -s --columns -o; and __drystone_is info top'
complete -c drystone -n $keys -a '(__drystone_keys)'
complete -c drystone -n "__drystone_is info top profile map doctor; and not begin; $keys; end" -a '(__drystone_processes)'
complete -c drystone -n "__drystone_is info profile map; and not begin; $keys; end" -F
complete -c drystone -n '__drystone_is diff symbolize' -F
complete -c drystone -n '__drystone_is run; and __drystone_after --allocator -a' -a 'drystone tiny sequential'
complete -c drystone -n '__drystone_is run; and not __drystone_after --allocator -a' -a '(__fish_complete_subcommand --fcs-skip=2)'
complete -c drystone -n '__drystone_is doctor' -a '(__fish_complete_command)'
