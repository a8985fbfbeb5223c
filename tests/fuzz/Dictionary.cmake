# Words for libFuzzer to put into its inputs: every name in quotes that stands in the tables of
# built-ins, ops and attributes and in the scanner, and what those do not have. -DIN=files -DOUT=file
set(words "*fp32" "*const fp32" "fp16" "bf16" "fp64" "i1" "i8" "u8" "i16" "i32" "u32" "i64" "u64" "fp8e5" "fp8e4nv"
  "tl." "triton." "constexpr" "\\x0a    " "\\x0a        " "def k(x: *fp32, n: i32):\\x0a" "[:, None]" "[None, :]" "f'{"
  "axis=" "mask=" "other=" "dtype=" "range(" "static_range(" "tile<16xfp32>" "tile<4x8xi32>" "ptr<fp32>" "func @"
  " : " " -> " "loc(" "0x7fffffff" "1e308" "-1" "2**63" "inf" "nan")
foreach(file ${IN})
  file(READ ${file} text)
  string(REGEX MATCHALL "\"[a-z_A-Z0-9=<>!*/%+&|^@:.-]+\"" found "${text}")
  foreach(word ${found})
    string(REGEX REPLACE "\"" "" word "${word}")
    list(APPEND words "${word}")
  endforeach()
endforeach()
list(REMOVE_DUPLICATES words)
set(lines "")
foreach(word ${words})
  string(APPEND lines "\"${word}\"\n")
endforeach()
file(WRITE ${OUT} "${lines}")
