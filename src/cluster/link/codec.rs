//! Frames: the lengths of head and data, the head, the data.
//!
//! ```text
//! bytes  0-3   length of the head, big-endian
//!        4-7   length of the data
//!        8-    head (postcard), then data
//! ```

use super::message::Message;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use glint_target_core::payload::Payload;
use std::io;
use tokio_util::codec::{Decoder, Encoder};

const LENGTHS: usize = 8;
/// The most that a head may have: names of initiators and targets, no data.
const MOST_HEAD: usize = 16 << 10;

/// One message with its data.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What is said.
    pub message: Message,
    /// Data-out of a command, data-in of an answer.
    pub data: Payload,
}

impl From<Message> for Frame {
    fn from(message: Message) -> Self {
        Self { message, data: Payload::new() }
    }
}

/// Why a connection is given up.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The other end sends what no node does.
    #[error("the other node sends what is no message: {0}")]
    Malformed(&'static str),
    /// The connection is gone.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Messages as bytes and back.
#[derive(Debug)]
pub struct Codec {
    most_data: usize,
}

impl Codec {
    /// Takes messages with so many bytes of data at most.
    pub fn new(most_data: usize) -> Self {
        Self { most_data }
    }
}

impl Encoder<Frame> for Codec {
    type Error = FrameError;

    fn encode(&mut self, frame: Frame, out: &mut BytesMut) -> Result<(), FrameError> {
        let too_long = || io::Error::new(io::ErrorKind::InvalidInput, "a message is too long");
        if frame.data.len() > self.most_data {
            return Err(too_long().into());
        }
        let start = out.len();
        out.put_bytes(0, LENGTHS);
        let written = postcard::to_io(&frame.message, (&mut *out).writer()).is_ok();
        let head = out.len() - start - LENGTHS;
        if !written || head > MOST_HEAD {
            out.truncate(start);
            return Err(too_long().into());
        }
        // Both fit: they are bounded above.
        let lengths = [head as u32, frame.data.len() as u32].map(u32::to_be_bytes);
        if let Some(place) = out.get_mut(start..start + LENGTHS) {
            place.copy_from_slice(lengths.as_flattened());
        }
        frame.data.pieces().iter().for_each(|piece| out.extend_from_slice(piece));
        Ok(())
    }
}

impl Decoder for Codec {
    type Item = Frame;
    type Error = FrameError;

    fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        let Some(lengths) = input.first_chunk::<LENGTHS>() else { return Ok(None) };
        let [h0, h1, h2, h3, d0, d1, d2, d3] = *lengths;
        let head = u32::from_be_bytes([h0, h1, h2, h3]) as usize;
        let data = u32::from_be_bytes([d0, d1, d2, d3]) as usize;
        if head > MOST_HEAD || data > self.most_data {
            return Err(FrameError::Malformed("it is too long"));
        }
        let whole = LENGTHS + head + data;
        if input.len() < whole {
            // Room comes with the data, not with its announcement.
            input.reserve((whole - input.len()).min(256 << 10));
            return Ok(None);
        }
        input.advance(LENGTHS);
        let head = input.split_to(head);
        let data = Bytes::from(input.split_to(data));
        match postcard::take_from_bytes(&head) {
            Ok((message, [])) => Ok(Some(Frame { message, data: data.into() })),
            _ => Err(FrameError::Malformed("its head is not one")),
        }
    }
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
