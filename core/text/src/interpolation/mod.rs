//! Templates of flow documents: text with `{{ session.var | filter }}` placeholders. (docs/spec/flows.md#2.4)

mod error;
mod filter;
mod json_template;
mod number_format;
mod output;
mod parse;
mod piece;
mod render;
mod request_url;
mod template;
#[cfg(test)]
mod tests;

pub use error::InterpolationError;
pub use filter::filter_names;
pub use json_template::JsonTemplate;
pub use output::{Interpolated, OutputContext, TextWithSecrets};
pub use request_url::RenderedUrl;
pub use template::Interpolation;
