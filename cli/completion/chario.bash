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
		[[ -e $disk && ${disk#/dev/chardisk} != *[!0-9]* ]] && echo "$disk"
	done
}

_chario_regions()
{
	local region
	for region in /dev/chardisk[0-9]*p[0-9]*; do
		[[ -e $region ]] && echo "$region"
	done
}

# A region is used like a disk.
_chario_nodes()
{
	_chario_disks
	_chario_regions
}

# Regions, and partitions of block disks.
_chario_partitions()
{
	local partition
	_chario_regions
	for partition in /dev/chardisk[0-9]*b[0-9]*; do
		[[ -e $partition ]] && echo "$partition"
	done
}

# Names of the areas of the store that the words before say.
_chario_areas()
{
	local i store=()
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--store | -s) store=(--store "${COMP_WORDS[i + 1]}") ;;
		esac
	done
	chario ls --json "${store[@]}" 2>/dev/null | sed -n 's/^ \{6\}"name": *"\(.*\)",$/\1/p'
}

# A name may have blanks in it: each line is one.
_chario_complete_areas()
{
	local name
	while IFS= read -r name; do
		[[ $name == "$1"* ]] && COMPREPLY+=("$(printf %q "$name")")
	done < <(_chario_areas)
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
		words='list info bind unbind plan stat health pin region export timeline'
		words+=' format check df ls create rename set resize rm put get cat run defrag record replay tail'
		words+=' help --help --version'
	else
		# Short options mean different things.
		case $verb$before in
		timeline-s) before=--seconds ;;
		export-s) before=--stop ;;
		export-l) before=--listen ;;
		export-H) before=--host ;;
		region-n) before=--name ;;
		run-A) before=--area ;;
		run-[iorf]) before='' ;;
		*-s) before=--store ;;
		esac
		case $before in
		--limits | -l) words='block= command= chunk= boundary= capacity=' ;;
		--only | -o) words='apst power-state coalescing vectors retry cpu link' ;;
		--store) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
		--areas | --align | --size | --bytes | --record | --flush-ms | --late-ms) return ;;
		--segment | --buffers | --from-time | --to-time | --first) return ;;
		--durability) words='auto none flush fua' ;;
		--from | --output)
			compopt -o filenames
			mapfile -t COMPREPLY < <(compgen -W '- unix: udp: tcp:' -- "$word"; compgen -f -- "$word")
			return
			;;
		--interval | -i | --count | -c) return ;;
		--seconds | -s | --stop-above-us | -u | --records | -r | --tag | -t) return ;;
		--unset | --name | --listen | --host) return ;;
		--area) _chario_complete_areas "$word" ;;
		*)
			case $verb in
			list) words='--all' ;;
			info) words=$(_chario_nodes) ;;
			bind) words="--force --block --keep --if-kept $(_chario_drives) $(compgen -G '/dev/nvme*n*')" ;;
			unbind) words="--force $(_chario_drives) $(_chario_disks)" ;;
			plan) words="--limits --write $(_chario_nodes)" ;;
			stat)
				words="--interval --count --store $(_chario_nodes)"
				_chario_complete_areas "$word"
				;;
			format) words="--force --areas --align --size --upgrade --store $(_chario_nodes)" ;;
			check) words="--repair --forget --data --quiet --store $(_chario_nodes)" ;;
			df) words="--store $(_chario_nodes)" ;;
			defrag) words="--quiet --store $(_chario_nodes)" ;;
			rename)
				words='--force --exchange --store'
				_chario_complete_areas "$word"
				;;
			create) words='--record --store' ;;
			ls)
				words='--long --store'
				_chario_complete_areas "$word"
				;;
			set)
				words='--unset --store'
				_chario_complete_areas "$word"
				;;
			resize)
				words='--store'
				_chario_complete_areas "$word"
				;;
			rm | cat)
				words='--force --store'
				_chario_complete_areas "$word"
				;;
			put)
				words='--bytes --changed --force --remove-first --quiet --store'
				compopt -o filenames
				mapfile -t COMPREPLY < <(compgen -f -- "$word")
				;;
			record)
				words='--from --size --ring --append --force --seconds --bytes --record'
				words+=' --durability --flush-ms --late-ms --segment --buffers --drop --urgent --dry-run --quiet --store'
				_chario_complete_areas "$word"
				;;
			replay)
				words='--paced --from-time --to-time --first --output --store'
				_chario_complete_areas "$word"
				;;
			tail)
				words='--records --follow --store'
				_chario_complete_areas "$word"
				;;
			get)
				words='--force --quiet --store'
				_chario_complete_areas "$word"
				;;
			health) words="--watch --interval --count $(_chario_nodes)" ;;
			pin) words="--only $(_chario_nodes)" ;;
			region)
				words='list create remove apply'
				[[ $COMP_CWORD -gt 2 ]] && case ${COMP_WORDS[2]} in
				create) words="--name --new-table --force $(_chario_disks)" ;;
				remove) words="--force $(_chario_regions)" ;;
				*) words=$(_chario_disks) ;;
				esac
				;;
			export) words="--listen --host --stop $(_chario_partitions)" ;;
			run)
				words='--area --stdin --stdout --read-only --force --store --'
				mapfile -t COMPREPLY < <(compgen -c -- "$word")
				;;
			timeline) words="--seconds --stop-above-us --records --all --tag $(_chario_nodes)" ;;
			help)
				words='list info bind unbind plan stat health pin region export timeline'
				words+=' format check df ls create rename set resize rm put get cat run defrag record replay tail help'
				;;
			esac
			words+=' --json --help'
			;;
		esac
	fi
	mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$word")
	COMPREPLY=("${COMPREPLY[@]#"$kept"}")
}

complete -F _chario chario
