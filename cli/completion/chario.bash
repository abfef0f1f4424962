# SPDX-License-Identifier: MIT
# Completion of chario(1) for bash.

_chario_drives()
{
	local class address
	for class in /sys/bus/pci/devices/*/class; do
		[[ -r $class && $(<"$class") == 0x010802 ]] || continue
		address=${class%/class}
		echo "${address##*/}"
	done
}

_chario_disks()
{
	local disk
	for disk in /dev/chardisk[0-9]*; do
		[[ -e $disk ]] && echo "$disk"
	done
}

_chario()
{
	local line=${COMP_LINE:0:COMP_POINT} before=$3 verb=${COMP_WORDS[1]} words='' word kept=''
	# PCI addresses hold colons, at which readline breaks words: it replaces
	# what stands behind the last one.
	word=${line##*[[:space:]]}
	[[ $COMP_WORDBREAKS == *:* ]] && kept=${word%"${word##*:}"}
	COMPREPLY=()
	if [[ $COMP_CWORD -eq 1 ]]; then
		words='list info bind unbind plan stat health pin timeline help --help --version'
	else
		case $before in
		--limits | -l) words='block= command= chunk= boundary= capacity=' ;;
		--only | -o) words='apst power-state coalescing vectors retry cpu link' ;;
		--interval | -i | --count | -c) return ;;
		--seconds | -s | --stop-above-us | -u | --records | -r | --tag | -t) return ;;
		*)
			case $verb in
			list) words='--all' ;;
			info) words=$(_chario_disks) ;;
			bind) words="--force $(_chario_drives) $(compgen -G '/dev/nvme*n*')" ;;
			unbind) words="--force $(_chario_drives) $(_chario_disks)" ;;
			plan) words="--limits --write $(_chario_disks)" ;;
			stat) words="--interval --count $(_chario_disks)" ;;
			health) words="--watch --interval --count $(_chario_disks)" ;;
			pin) words="--only $(_chario_disks)" ;;
			timeline) words="--seconds --stop-above-us --records --all --tag $(_chario_disks)" ;;
			help) words='list info bind unbind plan stat health pin timeline help' ;;
			esac
			words+=' --json --help'
			;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
	COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}

complete -F _chario chario
