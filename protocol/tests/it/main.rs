//! The messages against frames of our own making, against chance, and against bad will.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod audio;
mod bad_frames;
mod frames;
mod golden;
mod hostile;
mod round_trip;
mod values;

/// Runs a block once for each direction, with its enum named `$direction`.
macro_rules! each_direction {
    (|$direction:ident, $frames:ident| $body:block) => {{
        use lingua_protocol::{FromNode, FromSession, ToNode, ToSession};
        use $crate::frames;
        {
            type $direction<'a> = FromNode<'a>;
            let $frames = frames::FROM_NODE;
            $body
        }
        {
            type $direction<'a> = ToNode<'a>;
            let $frames = frames::TO_NODE;
            $body
        }
        {
            type $direction<'a> = FromSession<'a>;
            let $frames = frames::FROM_SESSION;
            $body
        }
        {
            type $direction<'a> = ToSession<'a>;
            let $frames = frames::TO_SESSION;
            $body
        }
    }};
}
pub(crate) use each_direction;
