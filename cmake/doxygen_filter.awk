# For Doxygen: the opening comment of a header becomes the description of its file. In prose, `<` and `#`
# and the backslash of an escape are literal: only commands such as `@ref` are markup.

NR == 1 && /^\/\/ / { in_opening = 1; print "/// @file" }
in_opening && !/^\/\// { in_opening = 0 }
in_opening { sub(/^\/\//, "///") }
/^ *\/\/\// && !/^ *\/\/\/ {4}/ {
  count = split($0, part, "`")
  line = ""
  for (i = 1; i <= count; i++) {
    if (i % 2 == 1) { gsub(/\\u/, "\\\\\\\\u", part[i]); gsub(/</, "\\\\<", part[i]); gsub(/#/, "\\\\#", part[i]) }
    line = line (i > 1 ? "`" : "") part[i]
  }
  print line
  next
}
{ print }
