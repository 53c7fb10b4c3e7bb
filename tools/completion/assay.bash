# Completion of assay's commands, options and names in bash: source it, or install it as
# share/bash-completion/completions/assay. The program itself is asked for its commands, options and lists.
_assay_words() { # the first words of the lines of a list
  "${COMP_WORDS[0]}" list "$1" 2>/dev/null | awk '!/^ / && NF {print $1}'
}

_assay_options() {
  "${COMP_WORDS[0]}" ${1:+"$1"} --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*'
}

_assay_commands() { # of the program, or of a command
  "${COMP_WORDS[0]}" ${1:+"$1"} --help 2>/dev/null | awk '/^Subcommands:/ {inside = 1; next} inside && /^  [a-z]/ {print $1}'
}

_assay() {
  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command="" word
  COMPREPLY=()
  local known
  known=" $(_assay_commands | tr '\n' ' ') "
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $known == *" $word "* ]]; then
      command=$word
      break
    fi
  done
  local words=""
  case $before in
    --operation) words=$(_assay_words operations) ;;
    --encoding) words=$(_assay_words encodings) ;;
    --property) words=$(_assay_words properties) ;;
    --family) words=$(_assay_words families) ;;
    --dtype) words="f64 f32 f16 bf16" ;;
    --effort) words="smoke quick full" ;;
    --output-format) words="markdown github" ;;
    --require-class) words="uniform sequential tree linear cumsum" ;;
    --candidate) words="builtin: process: python: library: recorded:" ;;
    --report | --baseline | --known-failures | --inputs | --out | --page)
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
      return
      ;;
    *)
      case $command,$current in
        ,*) words="$(_assay_commands) $(_assay_options)" ;;
        *,-*) words=$(_assay_options "$command") ;;
        list,*) words="encodings operations stages properties mutants families builtins $(_assay_words operations)" ;;
        truth,* | judge,*) words=$(_assay_words operations) ;;
        golden,*) words=$(_assay_commands golden) ;;
        mutants,*) words=$(_assay_words mutants) ;;
        merge,* | compare,* | replay,*)
          mapfile -t COMPREPLY < <(compgen -f -- "$current")
          return
          ;;
      esac
      ;;
  esac
  # A colon ends a word of readline: what stands before it is not inserted again.
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if declare -F __ltrim_colon_completions >/dev/null; then __ltrim_colon_completions "$current"; fi
}
complete -o default -F _assay assay
