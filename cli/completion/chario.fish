# SPDX-License-Identifier: MIT
# Completion of chario(1) for fish.

function __chario_drives
    for class in /sys/bus/pci/devices/*/class
        if test (cat $class) = 0x010802
            basename (dirname $class)
        end
    end
end

function __chario_disks
    for disk in /dev/chardisk*
        test -c $disk; and echo $disk
    end
end

function __chario_verb
    __fish_seen_subcommand_from $argv
end

complete -c chario -f
complete -c chario -n __fish_use_subcommand -l version -d 'Show versions'
complete -c chario -s h -l help -d 'Show help'
complete -c chario -s j -l json -d 'Print JSON'

complete -c chario -n __fish_use_subcommand -a list -d 'Show the disks'
complete -c chario -n __fish_use_subcommand -a info -d 'Show what a disk is and can do'
complete -c chario -n __fish_use_subcommand -a bind -d 'Give NVMe drives to CharIO'
complete -c chario -n __fish_use_subcommand -a unbind -d 'Give drives back'
complete -c chario -n __fish_use_subcommand -a plan -d 'Show the commands that a call costs'
complete -c chario -n __fish_use_subcommand -a stat -d 'Show the counters of a disk'
complete -c chario -n __fish_use_subcommand -a health -d 'Show how a drive is'
complete -c chario -n __fish_use_subcommand -a pin -d 'Run a program while the drive is pinned'
complete -c chario -n __fish_use_subcommand -a timeline -d 'Record when requests reach their stages'
complete -c chario -n __fish_use_subcommand -a help -d 'Show help'

complete -c chario -n '__chario_verb list' -s a -l all -d 'Also all NVMe controllers'
complete -c chario -n '__chario_verb bind unbind' -s f -l force -d 'Although it is in use'
complete -c chario -n '__chario_verb bind' -a '(__chario_drives) /dev/nvme*n*'
complete -c chario -n '__chario_verb unbind' -a '(__chario_drives) (__chario_disks)'
complete -c chario -n '__chario_verb info plan stat health pin timeline' -a '(__chario_disks)'
complete -c chario -n '__chario_verb plan' -s w -l write -d 'Plan a write'
complete -c chario -n '__chario_verb plan' -s l -l limits -x -d 'No disk, but these limits' \
    -a 'block= command= chunk= boundary= capacity='
complete -c chario -n '__chario_verb stat health' -s i -l interval -x -d 'Print what changes'
complete -c chario -n '__chario_verb stat health' -s c -l count -x -d 'Stop after N lines'
complete -c chario -n '__chario_verb health' -s w -l watch -d 'A line at each event'
complete -c chario -n '__chario_verb pin' -s o -l only -x -d 'These pins' \
    -a 'apst power-state coalescing vectors retry cpu link'
complete -c chario -n '__chario_verb timeline' -s s -l seconds -x -d 'Record for this long'
complete -c chario -n '__chario_verb timeline' -s u -l stop-above-us -x -d 'Freeze at a longer request'
complete -c chario -n '__chario_verb timeline' -s r -l records -x -d 'Records that each ring holds'
complete -c chario -n '__chario_verb timeline' -s a -l all -d 'Print every record'
complete -c chario -n '__chario_verb timeline' -s t -l tag -x -d 'Put a tag beside the records'
complete -c chario -n '__chario_verb help' -a 'list info bind unbind plan stat health pin timeline help'
