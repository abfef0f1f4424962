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

function __chario_whole_disks
    __chario_disks | string match -r '.*/chardisk[0-9]+$'
end

function __chario_regions
    __chario_disks | string match -r '.*p[0-9]+$'
end

# Regions, and partitions of block disks.
function __chario_partitions
    __chario_regions
    for partition in /dev/chardisk*b*
        string match -r '.*b[0-9]+$' $partition
    end
end

# Names of the areas of the store that the words before say.
function __chario_areas
    set -l words (commandline -opc)
    set -l store
    for i in (seq 2 (count $words))
        if contains -- $words[$i] -s --store
            set store --store $words[(math $i + 1)]
        end
    end
    chario ls --json $store 2>/dev/null | string replace -rf '^ {6}"name": *"(.*)",$' '$1'
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
complete -c chario -n __fish_use_subcommand -a region -d 'Show and make parts of a disk'
complete -c chario -n __fish_use_subcommand -a export -d 'Give a partition to other machines'
complete -c chario -n __fish_use_subcommand -a timeline -d 'Record when requests reach their stages'
complete -c chario -n __fish_use_subcommand -a format -d 'Make an empty store'
complete -c chario -n __fish_use_subcommand -a check -d 'Find and repair damage of a store'
complete -c chario -n __fish_use_subcommand -a df -d 'Show how full a store is'
complete -c chario -n __fish_use_subcommand -a ls -d 'List the areas of a store'
complete -c chario -n __fish_use_subcommand -a create -d 'Create an area'
complete -c chario -n __fish_use_subcommand -a rename -d 'Give an area another name'
complete -c chario -n __fish_use_subcommand -a set -d 'Give an area keys and values'
complete -c chario -n __fish_use_subcommand -a resize -d 'Make an area longer or shorter'
complete -c chario -n __fish_use_subcommand -a rm -d 'Remove areas'
complete -c chario -n __fish_use_subcommand -a put -d 'Make an area of a file'
complete -c chario -n __fish_use_subcommand -a get -d 'Make a file of an area'
complete -c chario -n __fish_use_subcommand -a cat -d 'Print what areas hold'
complete -c chario -n __fish_use_subcommand -a run -d 'Run a program that reaches one area'
complete -c chario -n __fish_use_subcommand -a defrag -d 'Put all free space into one hole'
complete -c chario -n __fish_use_subcommand -a record -d 'Record what comes in to an area'
complete -c chario -n __fish_use_subcommand -a replay -d 'Print the records of a recording'
complete -c chario -n __fish_use_subcommand -a tail -d 'Print the newest records'
complete -c chario -n __fish_use_subcommand -a help -d 'Show help'

complete -c chario -n '__chario_verb list' -s a -l all -d 'Also all NVMe controllers'
complete -c chario -n '__chario_verb bind unbind' -s f -l force -d 'Although it is in use'
complete -c chario -n '__chario_verb bind' -s b -l block -d 'And make block devices'
complete -c chario -n '__chario_verb bind' -s k -l keep -d 'And again whenever it appears'
complete -c chario -n '__chario_verb bind' -s i -l if-kept -d 'Only drives that are kept'
complete -c chario -n '__chario_verb bind' -a '(__chario_drives) /dev/nvme*n*'
complete -c chario -n '__chario_verb unbind' -a '(__chario_drives) (__chario_whole_disks)'
complete -c chario -n '__chario_verb info plan stat health pin timeline' -a '(__chario_disks)'
complete -c chario -n '__chario_verb plan' -s w -l write -d 'Plan a write'
complete -c chario -n '__chario_verb plan' -s l -l limits -x -d 'No disk, but these limits' \
    -a 'block= command= chunk= boundary= capacity='
complete -c chario -n '__chario_verb stat health' -s i -l interval -x -d 'Print what changes'
complete -c chario -n '__chario_verb stat health' -s c -l count -x -d 'Stop after N lines'
complete -c chario -n '__chario_verb health' -s w -l watch -d 'A line at each event'
complete -c chario -n '__chario_verb pin' -s o -l only -x -d 'These pins' \
    -a 'apst power-state coalescing vectors retry cpu link'
complete -c chario -n '__chario_verb region; and not __chario_verb list create remove apply' \
    -a 'list create remove apply'
complete -c chario -n '__chario_verb region; and __chario_verb list create apply' -a '(__chario_whole_disks)'
complete -c chario -n '__chario_verb region; and __chario_verb remove' -a '(__chario_regions)'
complete -c chario -n '__chario_verb region; and __chario_verb create' -s n -l name -x -d 'Name of the partition'
complete -c chario -n '__chario_verb region; and __chario_verb create' -s t -l new-table -d 'Make a GPT first'
complete -c chario -n '__chario_verb region; and __chario_verb create remove' -s f -l force \
    -d 'Although something is there'
complete -c chario -n '__chario_verb export' -a '(__chario_partitions)'
complete -c chario -n '__chario_verb export' -s l -l listen -x -d 'Where to listen'
complete -c chario -n '__chario_verb export' -s H -l host -x -d 'Who may connect'
complete -c chario -n '__chario_verb export' -s s -l stop -d 'End the export'
complete -c chario -n '__chario_verb run' -s A -l area -x -a '(__chario_areas)' -d 'The area'
complete -c chario -n '__chario_verb run' -s i -l stdin -d 'It is the standard input'
complete -c chario -n '__chario_verb run' -s o -l stdout -d 'It is the standard output'
complete -c chario -n '__chario_verb run' -s r -l read-only -d 'The program cannot write'
complete -c chario -n '__chario_verb run' -a '(__fish_complete_command)'
complete -c chario -n '__chario_verb timeline' -s s -l seconds -x -d 'Record for this long'
complete -c chario -n '__chario_verb timeline' -s u -l stop-above-us -x -d 'Freeze at a longer request'
complete -c chario -n '__chario_verb timeline' -s r -l records -x -d 'Records that each ring holds'
complete -c chario -n '__chario_verb timeline' -s a -l all -d 'Print every record'
complete -c chario -n '__chario_verb timeline' -s t -l tag -x -d 'Put a tag beside the records'
set -l stores format check df defrag
set -l areas ls create rename set resize rm get cat stat record replay tail
complete -c chario -n "__chario_verb $stores $areas put run" -s s -l store -r -F -d 'Which store'
complete -c chario -n "__chario_verb $stores" -F -a '(__chario_disks)'
complete -c chario -n "__chario_verb $areas" -a '(__chario_areas)'
complete -c chario -n '__chario_verb put get' -F
complete -c chario -n '__chario_verb ls' -s l -l long -d 'What recordings hold'
complete -c chario -n '__chario_verb format rename rm put get cat run' -s f -l force -d 'Although it is there'
complete -c chario -n '__chario_verb rename' -s x -l exchange -d 'Each gets the name of the other'
complete -c chario -n '__chario_verb set' -s u -l unset -x -d 'Take this key away'
complete -c chario -n '__chario_verb put' -s R -l remove-first -d 'No room for both'
complete -c chario -n '__chario_verb put' -s c -l changed -d 'Write only what differs'
complete -c chario -n '__chario_verb check put get defrag record' -s q -l quiet -d 'Show no progress'
complete -c chario -n '__chario_verb format' -s n -l areas -x -d 'Areas that there can be'
complete -c chario -n '__chario_verb format' -s a -l align -x -d 'Areas begin at multiples of this'
complete -c chario -n '__chario_verb format' -s S -l size -x -d 'Create a file of this size'
complete -c chario -n '__chario_verb format' -s u -l upgrade -d 'To the present format'
complete -c chario -n '__chario_verb check' -s r -l repair -d 'Put right what is safe'
complete -c chario -n '__chario_verb check' -s F -l forget -d 'Give up what is lost'
complete -c chario -n '__chario_verb check' -s d -l data -d 'Read all areas too'
complete -c chario -n '__chario_verb record' -s f -l from -r -F -a '- unix: udp: tcp:' -d 'Source'
complete -c chario -n '__chario_verb record' -s S -l size -x -d 'Create the area'
complete -c chario -n '__chario_verb record' -s r -l ring -d 'The oldest goes'
complete -c chario -n '__chario_verb record' -s a -l append -d 'Go on with a recording'
complete -c chario -n '__chario_verb record' -s F -l force -d 'Begin anew'
complete -c chario -n '__chario_verb record' -s t -l seconds -x -d 'So long'
complete -c chario -n '__chario_verb create record' -s R -l record -x -d 'Bytes of a record'
complete -c chario -n '__chario_verb record' -s d -l durability -x -a 'auto none flush fua' -d 'When it is durable'
complete -c chario -n '__chario_verb record' -s m -l flush-ms -x -d 'Time until it is durable'
complete -c chario -n '__chario_verb record' -s l -l late-ms -x -d 'What is late'
complete -c chario -n '__chario_verb record' -s g -l segment -x -d 'Bytes of a write'
complete -c chario -n '__chario_verb record' -s n -l buffers -x -d 'Segments in memory'
complete -c chario -n '__chario_verb record' -s D -l drop -d 'Drop and count'
complete -c chario -n '__chario_verb record' -s u -l urgent -d 'File systems on the drive stand back'
complete -c chario -n '__chario_verb record' -s N -l dry-run -d 'Say how much fits'
complete -c chario -n '__chario_verb replay' -s p -l paced -d 'At the pace of the recording'
complete -c chario -n '__chario_verb replay' -s F -l from-time -x -d 'Leave out earlier records'
complete -c chario -n '__chario_verb replay' -s T -l to-time -x -d 'Leave out later records'
complete -c chario -n '__chario_verb replay' -s n -l first -x -d 'So many records'
complete -c chario -n '__chario_verb replay' -s o -l output -r -F -d 'A new file'
complete -c chario -n '__chario_verb tail' -s n -l records -x -d 'So many'
complete -c chario -n '__chario_verb tail' -s f -l follow -d 'And those that come'
complete -c chario -n '__chario_verb put record' -s b -l bytes -x -d 'So many bytes'
complete -c chario -n '__chario_verb help' -a 'list info bind unbind plan stat health pin region export timeline'
complete -c chario -n '__chario_verb help' -a 'format check df ls create rename set resize rm put get cat run defrag record replay tail help'
