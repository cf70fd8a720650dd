#!/bin/sh
# Links as it is asked to, and keeps what a program was linked of, so that the lab can link it again.
# Nothing that goes wrong with the keeping may harm the build.
${LAB_CC:-cc} "$@" || exit
[ -n "$LAB_LINKS" ] || exit 0
program=
previous=
for argument; do
    # Libraries, lines that are too long for a command, and sources, which may be others when it is linked again.
    case $argument in -shared | -r | -c | @* | *.c | *.cc | *.cpp | *.cxx | *.C | *.s | *.S) exit 0 ;; esac
    [ "$previous" = -o ] && program=$argument
    previous=$argument
done
[ -f "$program" ] || exit 0
home=$LAB_LINKS/${program##*/}
new=$home.new
rm -rf "$new" && mkdir -p "$new" || exit 0
number=0
previous=
for argument; do
    written=$argument
    if [ "$previous" = -o ]; then
        written=lab-program
    else
        case $argument in
        "$LAB_TOOLCHAIN"/*) ;;
        *.o | *.rlib | *.a)
            if [ -f "$argument" ]; then
                number=$((number + 1))
                cp "$argument" "$new/$number-${argument##*/}" || exit 0
                written=lab-kept:$number-${argument##*/}
            fi
            ;;
        esac
    fi
    printf '%s\0' "$written" >>"$new/arguments"
    previous=$argument
done
pwd >"$new/folder"
echo "${LAB_CC:-cc}" >"$new/compiler"
echo "$LAB_TOOLCHAIN" >"$new/toolchain"
# Another link may go to the same place, and keep nothing: only the program itself says whose inputs these are.
cp "$program" "$new/program" || exit 0
rm -rf "$home" && mv "$new" "$home"
exit 0
