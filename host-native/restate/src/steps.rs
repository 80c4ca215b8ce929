//! Journaled steps. Their futures are boxed: the compiler cannot see that those of the SDK may be sent to another thread.

use std::future::Future;
use std::pin::Pin;

use restate_sdk::prelude::*;
use restate_sdk::serde::{Deserialize, Serialize};

/// A future that may be sent to another thread.
type Boxed<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// A context whose steps are journaled.
pub trait Steps: Sync {
    /// Runs a step under a name, unless the journal has its result. A step that fails or is interrupted is run again.
    ///
    /// # Errors
    /// Returns an error with code 409 when the invocation is cancelled.
    fn step<'s, T>(
        &'s self,
        name: impl Into<String>,
        work: impl Future<Output = HandlerResult<T>> + Send + 'static,
    ) -> Boxed<'s, Result<T, TerminalError>>
    where
        T: Serialize + Deserialize + Send + 'static;
}

/// Implements [`Steps`] for a context.
macro_rules! implement_steps {
    ($context:ident) => {
        impl Steps for $context<'_> {
            fn step<'s, T>(
                &'s self,
                name: impl Into<String>,
                work: impl Future<Output = HandlerResult<T>> + Send + 'static,
            ) -> Boxed<'s, Result<T, TerminalError>>
            where
                T: Serialize + Deserialize + Send + 'static,
            {
                let work: Boxed<'static, HandlerResult<T>> = Box::pin(work);
                Box::pin(self.run(move || work).name(name))
            }
        }
    };
}

implement_steps!(Context);
implement_steps!(ObjectContext);
