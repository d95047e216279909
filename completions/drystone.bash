# SPDX-License-Identifier: MIT OR GPL-2.0-only
# Completion of drystone for bash. Commands and options are those that the command's own help prints.

_drystone_commands() {
	drystone --help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p'
}

# _drystone_options COMMAND: lines "-s --sort KEY"
_drystone_options() {
	drystone help "$1" 2>/dev/null | sed -n 's/^  \(-.\), \(--[a-z]*\)\(\[*[= ][A-Z][^ ]*\)\{0,1\}.*/\1 \2 \3/p'
}

# _drystone_values COMMAND OPTION: what can follow it, in COMPREPLY; status 1: the option takes nothing
_drystone_values() {
	local argument
	argument=$(_drystone_options "$1" | awk -v o="$2" '$1 == o || $2 == o { print $3 }')
	case $argument in
	KEY) COMPREPLY=($(compgen -W "$(drystone info --keys 2>/dev/null | awk '{ print $1 }')" -- "$cur")) ;;
	KEY,*)
		local before=
		[[ $cur == *,* ]] && before=${cur%,*},
		COMPREPLY=($(compgen -P "$before" -W "$(drystone info --keys 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "${cur##*,}"))
		;;
	NAME) COMPREPLY=($(compgen -W 'drystone tiny sequential' -- "$cur")) ;;
	PATH | FILE) COMPREPLY=($(compgen -f -- "$cur")) ;;
	'' | '['*) return 1 ;;
	esac
}

_drystone_processes() {
	drystone top --batch --iterations 1 2>/dev/null | awk 'titles { if ($1 ~ /^[0-9]+$/) print $1 } /^ *PID PROGRAM/ { titles = 1 }'
}

_drystone() {
	local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} i
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "$(_drystone_commands) --help --version" -- "$cur"))
		return
	fi
	if [[ $command == help ]]; then
		COMPREPLY=($(compgen -W "$(_drystone_commands)" -- "$cur"))
		return
	fi
	if [[ $command == run ]]; then # behind the program, it is the program's turn
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--) i=$((i + 1)) ;;
			-*)
				_drystone_options run | awk -v o="${COMP_WORDS[i]}" '($1 == o || $2 == o) && $3 != "" { exit 1 }' || i=$((i + 1))
				continue
				;;
			esac
			((i >= COMP_CWORD)) && break
			if declare -F _command_offset >/dev/null; then
				_command_offset "$i"
			else
				COMPREPLY=($(compgen -f -- "$cur"))
			fi
			return
		done
	fi
	[[ $previous == -* && $previous != -- ]] && _drystone_values "$command" "$previous" && return
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(_drystone_options "$command" | awk '{ print $2 }')" -- "$cur"))
		return
	fi
	case $command in
	run) COMPREPLY=($(compgen -c -- "$cur")) ;;
	info | profile | map) COMPREPLY=($(compgen -W "$(_drystone_processes)" -- "$cur") $(compgen -f -- "$cur")) ;;
	diff | symbolize) COMPREPLY=($(compgen -f -- "$cur")) ;;
	top) COMPREPLY=($(compgen -W "$(_drystone_processes)" -- "$cur")) ;;
	doctor) COMPREPLY=($(compgen -W "$(_drystone_processes)" -- "$cur") $(compgen -c -- "$cur")) ;;
	experiment) COMPREPLY=($(compgen -W "all $(drystone experiment --help 2>/dev/null |
		sed -n '/^Experiments: /,$ { s/^Experiments: //; s/;.*//; s/,//g; p; }')" -- "$cur")) ;;
	esac
}

complete -F _drystone drystone
