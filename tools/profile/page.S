/* The page that html.c writes, as it is. */
    .section .rodata
    .globl sw_profile_page, sw_profile_page_end
    .hidden sw_profile_page, sw_profile_page_end
sw_profile_page:
    .incbin "page.html"
sw_profile_page_end:
    .section .note.GNU-stack, "", %progbits
