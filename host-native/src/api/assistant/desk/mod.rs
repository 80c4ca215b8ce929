//! `/v1/desk`: the conversations that people have, or should have (docs/guide/desk.md).

pub mod schemas;
