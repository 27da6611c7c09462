"""Real engines answer the demo's questions: vLLM and llama.cpp, compared with transformers."""
