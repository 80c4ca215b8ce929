//! The SDK for extensions: an `async fn` becomes a WebAssembly module that both the server and the browser run.
//!
//! An extension implements tasks. It sees the session, may request effects such as HTTP calls, and returns a patch of the session.
//! It has no side effects of its own: the host executes its requests within the rights of its manifest.
//!
//! ```
//! use convengine_extension::{Ext, Fault, HttpCall, Patch, View, export};
//!
//! async fn quote(x: Ext, view: View) -> Result<Patch, Fault> {
//!     let amount = view.param("amount").and_then(|it| it.as_f64()).ok_or(Fault::new("NO_AMOUNT", "the amount is missing"))?;
//!     let reply = x.perform(HttpCall::get("https://rates.example/today").secret("rates")).await?;
//!     let rate: f64 = reply.json()?;
//!     Ok(Patch::default().param("fee", amount * rate))
//! }
//!
//! export! { "feeTask:quote" => quote }
//! # fn main() {}
//! ```
//!
//! The crate of an extension is a `cdylib`, built with `cargo build --release --target wasm32-unknown-unknown`. A panic is a trap,
//! which fails the call and loses the panic message, so return a [`Fault`] where something can go wrong.
//!
//! For tests without a host, `export!` also generates a function `conv_extension`, which returns an [`Extension`] that runs the same code.

#[doc(hidden)]
#[cfg(target_family = "wasm")]
pub mod abi;
mod ext;
mod extension;
mod http;
mod llm;
mod message;
mod patch;
mod view;

pub use ext::{Ext, Operation, Ticket};
pub use extension::{Extension, Run};
pub use http::{HttpCall, HttpReply};
pub use llm::LlmCall;
pub use message::{Call, Container, EffectError};
pub use patch::{Fault, Patch, Payload};
pub use view::View;

#[doc(hidden)]
pub use serde_json as json;

/// Generates the exports of a module from its tasks: `export! { "bean:method" => function, … }`.
///
/// Each function is `async fn(Ext, View) -> Result<Patch, Fault>`. A hook or a transformer is a task too;
/// [`Ext::call`] returns what it is called for.
#[macro_export]
macro_rules! export {
    ($($task:literal => $function:path),+ $(,)?) => {
        /// The tasks of this extension, as a host calls them.
        pub fn conv_extension() -> $crate::Extension {
            $crate::Extension::new(&[$($task),+], |x, view| match x.task().as_str() {
                $($task => Some(::std::boxed::Box::pin($function(x, view)) as $crate::Run),)+
                _ => None,
            })
        }

        #[cfg(target_family = "wasm")]
        #[allow(unsafe_code, reason = "hosts look up the exports by these names, which no other crate defines")]
        const _: () = {
            #[unsafe(no_mangle)]
            extern "C" fn conv_alloc(len: u32) -> u32 {
                $crate::abi::alloc(len)
            }

            #[unsafe(no_mangle)]
            extern "C" fn conv_start(_ptr: u32, len: u32) -> u32 {
                $crate::abi::start(conv_extension(), len)
            }

            #[unsafe(no_mangle)]
            extern "C" fn conv_resume(_ptr: u32, len: u32) -> u32 {
                $crate::abi::resume(len)
            }
        };
    };
}
