"""Real engines answer the demo's questions: vLLM and llama.cpp on the CPU, beside transformers.

`python -m tests.support.engines` compares what they write, what is picked and every metric with the harness' back end
`hf`. All read the same weights in float32: those of the demo's model, dequantised once, as safetensors and as GGUF.
Then a prompt has one most likely answer, and no engine may write another one. Of llama.cpp and vLLM 0.32 none does.

What equality needs, and what an engine does not do:

- The template of this model adds a system message of its own where there is none. It is applied by the harness
  (`hf`, `vllm`, `local-completions`) or by the server (`local-chat-completions`), with the same result; llama.cpp is
  started with `use_jinja`, so that it uses the template in the file.
- Prompts go to `local-completions` as numbers of tokens, so that no server adds a token to their beginning.
- Tasks that score letters (`_mc`) need the log-probabilities of a prompt. Chat APIs have none. llama.cpp takes `echo`
  without an error and returns those of the written token instead, under other names. Both are refused before the run.
- The log-likelihoods of vLLM and transformers differ by some 1e-5: float32, summed in another order. No pick of this
  model is that close to another one.
- vLLM with a batch of size `auto` divides by zero if the environment has TQDM_DISABLE: the harness has it show a bar,
  whose clock is then never started. So the variable is not set here.
"""
