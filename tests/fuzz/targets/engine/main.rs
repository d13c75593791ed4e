//! One session, either role, with any peer, any application and any clock.
//!
//! The input is a script, so that seeds can be read and written by hand. Its first line is `server` or `client`, with
//! ` ready` for a handshake beforehand. Then one step a line, a letter and what belongs to it:
//!
//! | step | meaning |
//! |---|---|
//! | `< bytes` | the peer sends this frame |
//! | `a N members` | the peer answers the Nth own request with these members |
//! | `n N` | the peer reports progress of the Nth own request |
//! | `o bytes` | the peer sends a frame beyond the limit, of which this is the beginning |
//! | `z` | the peer's side ends |
//! | `? method [params]` | the application asks, wanting progress if there are params |
//! | `! method [params]` | the application notifies |
//! | `r N`, `e N` | the Nth call is answered with a result, with an error |
//! | `p N value` | the Nth call reports progress |
//! | `x N` | the application gives up its Nth request |
//! | `q` | the application closes the session |
//! | `t N` | N milliseconds pass |
//! | `k N` | the peer takes N messages |
#![no_main]

mod model;

use libfuzzer_sys::fuzz_target;
use model::Model;

fuzz_target!(|script: &[u8]| {
    let mut lines = script.split(|byte| *byte == b'\n').take(200);
    let Some(mut model) = lines.next().and_then(Model::new) else { return };
    for line in lines {
        let (letter, rest) = line.split_at_checked(1).unwrap_or_default();
        model.step(letter, rest.strip_prefix(b" ").unwrap_or(rest));
        model.check();
    }
    model.finish();
});
