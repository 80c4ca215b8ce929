;; Divides by nothing.
(module
  (memory (export "memory") 1)
  (func (export "conv_alloc") (param i32) (result i32) (i32.const 1024))
  (func $answer (param i32 i32) (result i32) (i32.div_u (i32.const 1) (i32.const 0)))
  (export "conv_start" (func $answer))
  (export "conv_resume" (func $answer)))
