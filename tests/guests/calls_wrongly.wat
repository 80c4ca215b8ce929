;; Calls a function of its table in another form than it has.
(module
  (memory (export "memory") 1)
  (table 2 funcref)
  (elem (i32.const 0) $answer)
  (type $form (func (result i32)))
  (func (export "conv_alloc") (param i32) (result i32) (i32.const 1024))
  (func $answer (param i32 i32) (result i32) (call_indirect (type $form) (i32.const 0)))
  (export "conv_start" (func $answer))
  (export "conv_resume" (func $answer)))
