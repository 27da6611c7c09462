"""Real engines answer the demo's questions: vLLM and llama.cpp on the CPU, beside transformers.

`python -m benchmarks.engines` compares their responses, picks and metrics with those of the harness' back end `hf`.
All read the same weights in float32: those of the demo's model, dequantised once, as safetensors and as GGUF. Then a
prompt has one most likely answer, and all engines must return it. llama.cpp and vLLM 0.32 do.

Conditions for equal results, and limitations of the engines:

- The template of this model adds its own system message if there is none. It is applied by the harness
  (`hf`, `vllm`, `local-completions`) or by the server (`local-chat-completions`), with the same result; llama.cpp is
  started with `use_jinja`, so that it uses the template in the file.
- `local-completions` sends prompts as token ids, so that no server adds a token to their beginning.
- Tasks that score letters (`_mc`) are compared with `hf` in both ways: after the prompt, and by the next token. Chat
  APIs and llama.cpp have only the second: llama.cpp accepts `echo` but returns the log-probability of the generated
  token, under other names.
- The log-probabilities of llama.cpp differ by 0.02 at most, and by 0.003 on average, also with a cache in float32.
- The log-likelihoods of vLLM and transformers differ by about 1e-5, because float32 values are summed in a different
  order. No two options of this model are that close.
- vLLM with a batch of size `auto` divides by zero if the environment has TQDM_DISABLE: the clock of its
  progress bar is then never started. So the variable is not set here.
"""
