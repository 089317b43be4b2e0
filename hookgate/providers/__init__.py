"""Language models behind one seam: each module turns an LLMRequest into streamed text and one LLMReply."""
