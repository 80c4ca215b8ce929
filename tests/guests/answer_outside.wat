;; Its record points behind the end of its memory, with a length that goes around.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\00\ff\00\00\ff\ff\ff\ff")
  (func (export "conv_alloc") (param i32) (result i32) (i32.const 1024))
  (func $answer (param i32 i32) (result i32) (i32.const 16))
  (export "conv_start" (func $answer))
  (export "conv_resume" (func $answer)))
