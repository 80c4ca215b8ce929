;; Answers with bytes that are no text.
(module
  (memory (export "memory") 1)
  (data (i32.const 16) "\20\00\00\00\03\00\00\00")
  (data (i32.const 32) "\"\ff\"")
  (func (export "conv_alloc") (param i32) (result i32) (i32.const 1024))
  (func $answer (param i32 i32) (result i32) (i32.const 16))
  (export "conv_start" (func $answer))
  (export "conv_resume" (func $answer)))
