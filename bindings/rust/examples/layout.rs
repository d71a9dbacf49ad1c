//! The layout of the structures that the crate declares, as bindings/layout.c prints it: for its test.

use snapwalk::ffi::{Frame, Range, Regs, Scratch, Walker};
use std::mem::{offset_of, size_of};

fn main() {
    println!("sw_regs {}\nsw_regs.known {}\nsw_regs.r {}", size_of::<Regs>(), offset_of!(Regs, known), offset_of!(Regs, r));
    println!("sw_range {}\nsw_range.kind {}", size_of::<Range>(), offset_of!(Range, kind));
    println!("sw_frame {}\nsw_frame.lookup {}", size_of::<Frame>(), offset_of!(Frame, lookup));
    println!("sw_frame.source {}\nsw_frame.exact {}", offset_of!(Frame, source), offset_of!(Frame, exact));
    println!("sw_walker {}\nsw_scratch {}", size_of::<Walker>(), size_of::<Scratch>());
}
