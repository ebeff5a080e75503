#!/bin/sh
# What mpslint does, on a copy of train.py. Usage: demo.sh FOLDER_OF_PYTHON_AND_MPSLINT
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
bin=$(CDPATH='' cd -- "$1" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cp "$here/train.py" "$work/train.py"
cd "$work" || exit 2
PATH="$bin:$PATH"
export CUDA_VISIBLE_DEVICES=

if [ -t 1 ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); else bold='' plain=''; fi
say() { printf '\n%s== %s%s\n' "$bold" "$1" "$plain"; }

say '1. The script needs CUDA'
echo '$ python train.py'
if python train.py >out.txt 2>&1; then
    echo 'train.py ran without CUDA: this demo has nothing to show' >&2
    exit 1
fi
tail -n 1 out.txt

say '2. Where, and why'
echo '$ mpslint check train.py'
mpslint check --isolated --no-cache train.py
[ $? -eq 1 ] || exit 1

say '3. What a fix would change'
echo '$ mpslint fix --diff train.py'
mpslint fix --isolated --no-cache --diff train.py
[ $? -eq 1 ] || exit 1

say '4. Fix it, after a run of the result on the CPU and on a simulated Apple GPU'
echo '$ mpslint fix train.py'
mpslint fix --isolated --no-cache --require-verified train.py
fixed=$?
[ $fixed -le 1 ] || exit $fixed

say '5. The script as it is now'
echo '$ python train.py'
python train.py || exit 1
