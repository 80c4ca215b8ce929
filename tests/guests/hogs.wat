;; Takes memory until there is no more, and gives up then.
(module
  (memory (export "memory") 1)
  (func (export "conv_alloc") (param i32) (result i32) (i32.const 1024))
  (func $answer (param i32 i32) (result i32)
    (loop $more (br_if $more (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    unreachable)
  (export "conv_start" (func $answer))
  (export "conv_resume" (func $answer)))
