#!/bin/sh
# Links as requested, and copies the inputs of the link so that the lab can link the program again.
# An error of the copying must not affect the build.
${LAB_CC:-cc} "$@" || exit
[ -n "$LAB_LINKS" ] || exit 0
program=
previous=
for argument; do
    # Not for libraries, for arguments in a response file, or for sources, which may change before the next link.
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
# A later link to the same path may copy nothing: the program's hash says to which program the inputs belong.
cp "$program" "$new/program" || exit 0
rm -rf "$home" && mv "$new" "$home"
exit 0
